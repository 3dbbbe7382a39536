/// Network figures of one run of a transfer.
public struct TransferMetrics: Sendable, Hashable, Codable {
  /// From the start of the run to its first answer, including name lookup, connection and
  /// redirects; nil without an answer.
  public let timeToFirstResponse: Duration?
  /// Requests that were sent, including additional ranges and retries.
  public let requests: Int
  /// Retried attempts.
  public let retries: Int

  /// Metrics, for previews, fakes and tests.
  /// - Parameters: the values of the properties of the same names.
  public init(timeToFirstResponse: Duration?, requests: Int, retries: Int) {
    self.timeToFirstResponse = timeToFirstResponse
    self.requests = requests
    self.retries = retries
  }
}
