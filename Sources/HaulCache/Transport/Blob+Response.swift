import FoundationEssentials
import HaulCore

extension Blob {
  private static let chunkSize = 256 << 10

  /// The whole resource; or the rest that is asked for, if it is of this version (RFC 9110,
  /// sections 13.1.5 and 14.2).
  func response(to request: FetchRequest, _ use: CacheUse) -> FetchResponse {
    var headers = head.response.headers
    let rest = rest(for: request)
    let sent = rest ?? 0..<body.count
    headers.remove("Content-Length")
    headers.append("Content-Length", "\(sent.count)")
    if rest != nil {
      let last = sent.upperBound - 1
      headers.append("Content-Range", "bytes \(sent.lowerBound)-\(last)/\(body.count)")
    }
    var answer = ResponseHead(status: rest == nil ? 200 : 206, headers: headers, url: request.url)
    answer.cacheUse = use
    answer.copiedAt = head.response.answeredAt
    let bytes = body.dropFirst(sent.lowerBound).prefix(sent.count)
    let starts = stride(from: bytes.startIndex, to: bytes.endIndex, by: Self.chunkSize)
    let chunks = starts.map { bytes[$0..<min($0 + Self.chunkSize, bytes.endIndex)] }
    return FetchResponse(head: answer, body: CollectedBody(chunks: chunks), executor: nil)
  }

  private func rest(for request: FetchRequest) -> Range<Int>? {
    let end = min(request.lastByte.map { $0 + 1 } ?? .max, Int64(body.count))
    guard let first = request.firstByte, first > 0, first < end else { return nil }
    let validator = Validator(head.response.headers, now: head.response.answeredAt)
    if let condition = request.ifRange, condition != validator.ifRange { return nil }
    return Int(first)..<Int(end)
  }
}
