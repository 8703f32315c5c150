// Package shop sells.
package shop

import "fmt"

const MaxItems = 99

const (
	// Open is not paid yet.
	Open State = iota
	Paid
)

var ErrFull = fmt.Errorf("full")

// Cart is what a customer wants.
type Cart struct {
	items []Item
}

// Total is anything with a total.
type Total interface {
	Total() int
}

type State int

// Add adds an item.
//
// It fails when the cart is full.
func (c *Cart) Add(item Item, count int) (int, error) {
	return 0, nil
}

func (l List[T]) Len() int { return 0 }

func New(owner string) *Cart {
	return &Cart{}
}
