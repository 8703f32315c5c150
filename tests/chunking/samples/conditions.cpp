namespace shop {

// Counts what is taken.
class Limiter {
 public:
  Limiter(int most)
      :
#if !defined(NDEBUG)
        most_(most),
#endif
        left_(most) {
  }

  bool take();

 private:
#if !defined(NDEBUG)
  const int most_;
#endif
  int left_;
};

bool Limiter::take() {
  return left_-- > 0;
}

Limiter* make_limiter(int most) { return new Limiter(most); }

}  // namespace shop
