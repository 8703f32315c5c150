#!/usr/bin/env bash
set -euo pipefail

MAX_ITEMS=99
readonly OWNER="me"

# Adds an item.
# $1: what
add_item() {
  echo "$1"
}

function open_cart {
  add_item "$@"
}

add_item "$@"
