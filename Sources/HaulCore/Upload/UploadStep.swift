/// How much an upload that resumes sends in one request, once the server, or a proxy, has refused a
/// longer body.
struct UploadStep: Sendable {
  /// The most bytes of a request.
  private(set) var most = Int64.max
  /// The same, if the server still has the upload: something answered 404 to more bytes.
  private(set) var suspected: Int64?

  /// Usual limits of proxies are 100 MB, 10 MB and 1 MiB.
  private static let steps: [Int64] = [64 << 20, 8 << 20, 1 << 20, 256 << 10, 64 << 10]

  /// The next step below this length; nil if even that is too small to be refused for its length.
  private static func smaller(than length: Int64) -> Int64? { steps.first { $0 < length } }

  /// A body of this length is too long.
  /// - Returns: false if it was not refused for its length.
  mutating func refuse(_ length: Int64) -> Bool {
    guard let step = Self.smaller(than: length) else { return false }
    most = min(most, step)
    return true
  }

  /// The same, unless the upload is gone.
  @discardableResult
  mutating func suspect(_ length: Int64) -> Bool {
    guard let step = Self.smaller(than: length) else { return false }
    suspected = min(suspected ?? .max, step)
    return true
  }

  /// The upload is not gone.
  mutating func confirm() {
    if let limit = suspected { (most, suspected) = (min(most, limit), nil) }
  }

  /// It is gone.
  mutating func forgetSuspicion() { suspected = nil }
}

extension TransferError {
  /// Whether the request may have been dropped on its way because of its method, or got what is no
  /// HTTP in answer to it.
  var leavesQuestionOpen: Bool {
    [.connectionLost, .stalled, .timeout, .protocolViolation].contains(code)
  }
}
