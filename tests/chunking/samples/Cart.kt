package shop

import java.util.UUID

const val MAX_ITEMS = 99

/** What a customer wants. */
@Serializable
data class Cart<T : Item>(val owner: String) : Total {
    private val items = mutableListOf<T>()

    /**
     * Adds an item.
     */
    @Throws(FullException::class)
    suspend fun add(item: T, count: Int = 1): Int {
        return count
    }

    companion object {
        fun empty() = Cart<Item>("")
    }
}

interface Total {
    fun total(): Int
}

enum class State { OPEN, PAID }

object Shop {
    fun open() {}
}

// An extension.
fun String.toMoney(): Long = toLong()

typealias Carts = List<Cart<Item>>
