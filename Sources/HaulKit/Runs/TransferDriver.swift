/// Performs one run of a transfer: a download, a step, or the removal of what a run left.
protocol TransferDriver: Sendable {
  /// Returns when nothing of the run is left. It follows the orders of the context, and reports to
  /// it.
  func run(_ context: RunContext) async -> RunEnd
}
