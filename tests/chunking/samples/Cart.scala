package shop

import java.util.UUID

/** What a customer wants. */
@SerialVersionUID(1)
case class Cart[T <: Item](owner: String) extends Total {
  private val items = ListBuffer.empty[T]

  /**
   * Adds an item.
   */
  @throws[FullException]
  def add(item: T, count: Int = 1): Int = {
    def check(limit: Int) = count < limit
    count
  }
}

object Cart {
  def empty: Cart[Item] = Cart("")
  given ordering: Ordering[Cart[Item]] = ???
}

sealed trait Total { def total: Int }

enum State { case Open, Paid }

type Carts = List[Cart[Item]]
