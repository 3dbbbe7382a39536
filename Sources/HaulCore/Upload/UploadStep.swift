/// How much an upload that resumes sends in one request, once a longer body was refused (413).
enum UploadStep {
  /// Usual limits of proxies are 100 MB, 10 MB and 1 MiB.
  private static let steps: [Int64] = [64 << 20, 8 << 20, 1 << 20, 256 << 10, 64 << 10]

  /// The next step below this length; nil if even that is too small to be refused for its length.
  static func smaller(than length: Int64) -> Int64? { steps.first { $0 < length } }
}

extension TransferError {
  /// Whether the request may have been dropped on its way because of its method, or got what is no
  /// HTTP in answer to it.
  var leavesQuestionOpen: Bool {
    [.connectionLost, .stalled, .timeout, .protocolViolation].contains(code)
  }
}
