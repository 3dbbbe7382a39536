/// Makes a reader with a backlog yield now and then. Otherwise nothing else on its actor would run
/// until the backlog is read.
struct PeriodicYield: Sendable {
  private static let most = 16
  private var count = 0

  /// Call it before each element is awaited.
  mutating func next() async {
    count += 1
    guard count == Self.most else { return }
    count = 0
    await Task.yield()
  }
}
