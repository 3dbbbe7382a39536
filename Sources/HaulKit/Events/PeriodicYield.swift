/// Makes a reader with a backlog yield now and then, so that other work on its actor can run.
struct PeriodicYield: Sendable {
  private static let maximumBeforeYield = 16
  private var count = 0

  /// Call it before each element is awaited.
  mutating func next() async {
    count += 1
    guard count == Self.maximumBeforeYield else { return }
    count = 0
    await Task.yield()
  }
}
