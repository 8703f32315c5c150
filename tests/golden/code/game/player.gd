extends CharacterBody2D

const GRAVITY = 980.0
const JUMP_SPEED = -400.0


func _physics_process(delta):
	velocity.y += GRAVITY * delta
	if Input.is_action_just_pressed("jump") and is_on_floor():
		velocity.y = JUMP_SPEED
	move_and_slide()


func take_damage(amount):
	health = max(health - amount, 0)
	if health == 0:
		die()
