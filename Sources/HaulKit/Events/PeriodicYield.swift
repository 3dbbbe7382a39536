/// Has a reader with a backlog suspend now and then: otherwise nothing else on its actor runs for
/// as long as the backlog lasts.
struct PeriodicYield: Sendable {
  private static let most = 16
  private var count = 0

  /// To be called before each element is awaited.
  mutating func next() async {
    count += 1
    guard count == Self.most else { return }
    count = 0
    await Task.yield()
  }
}
