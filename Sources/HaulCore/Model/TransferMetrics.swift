/// How one run of a transfer went over the network.
public struct TransferMetrics: Sendable, Hashable, Codable {
  /// From the start of the run to its first answer, name lookup, connection and redirects included;
  /// nil when there was none.
  public let firstAnswer: Duration?
  /// Requests that were sent, those for further ranges and retries included.
  public let requests: Int
  /// Attempts that were made again after a failure.
  public let retries: Int

  /// Such a run, for previews, fakes and tests.
  /// - Parameters: what the properties of the same names tell.
  public init(firstAnswer: Duration?, requests: Int, retries: Int) {
    self.firstAnswer = firstAnswer
    self.requests = requests
    self.retries = retries
  }
}
