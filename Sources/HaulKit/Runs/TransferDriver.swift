/// Performs one run of a transfer: a download, a step, or the removal of what a run left.
protocol TransferDriver: Sendable {
  /// Performs the run, and returns when nothing of it is left. It follows the orders of the
  /// context, and reports to it.
  func run(_ context: RunContext) async -> RunEnd
}
