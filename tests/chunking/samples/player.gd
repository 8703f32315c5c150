@tool
class_name Player
extends CharacterBody2D

## Emitted when hit.
signal hurt(amount: int)
signal died

enum State { IDLE, RUN }

const MAX_SPEED := 300.0

## How fast it walks.
@export_range(0, 10)
var speed: float = 3.0
@onready var sprite: Sprite2D = $Sprite2D


func _init(name: String) -> void:
	self.name = name


## Moves the player.
##
## Called every frame.
@rpc("any_peer", "call_local")
func move(delta: float, direction := Vector2.ZERO) -> void:
	velocity = direction * speed
	move_and_slide()


# Makes one.
static func create() -> Player:
	var on_done = func(x): return x
	return Player.new("p")


## What it carries.
class Inventory extends Resource:
	var items: Array = []

	## Adds an item.
	func add(item) -> void:
		items.append(item)
