/** Shows a cart. */
export default function CartView({ items }) {
  return <ul>{items.map((i) => <li>{i}</li>)}</ul>;
}
