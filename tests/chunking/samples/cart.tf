# What customers want is kept here.
resource "aws_db_instance" "this" {
  count          = local.create ? 1 : 0
  instance_class = var.size

  lifecycle {
    prevent_destroy = true
  }
}

data "aws_zones" "all" {}

# How large.
variable "size" {
  type    = string
  default = "small"
}

locals {
  create = var.create && length(data.aws_zones.all.names) > 0
  # For each.
  tags = { for key in var.keys : key => local.create }
}

output "cart_id" {
  value = aws_db_instance.this[0].id
}

module "items" {
  source = "./items"
}

provider "aws" {
  region = "here"
}
