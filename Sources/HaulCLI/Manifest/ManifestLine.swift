import Crypto
import FoundationEssentials
import HaulControl
package import HaulCore
import HaulLibC

/// What a manifest says of one file: how it ended last.
package struct ManifestLine: Codable, Hashable, Sendable {
  /// Names a file by its address, without what signs it, and its target.
  package struct ID: Hashable, Sendable {
    /// Two numbers, because a million of them are held.
    private let high: UInt64
    let low: UInt64

    package init(of request: TransferRequest) {
      // The access key of a store does not count: the next one reaches the same object.
      let user = request.upload?.method == .s3 ? nil : request.upload?.url.credentials?.user
      let source = request.localSource ?? request.source?.exactResourceText ?? ""
      var bytes = Array(source.utf8)
      bytes.append(0x0A)
      if let user { bytes += user.utf8 }
      bytes.append(0x0A)
      bytes += request.targetText.utf8
      self.init(hashing: bytes)
    }

    /// Names a text; for an address, also before its target is known.
    init(hashing text: String) { self.init(hashing: Array(text.utf8)) }

    private init(hashing bytes: [UInt8]) {
      var hash = SHA256()
      bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
      (high, low) = hash.finalize().withUnsafeBytes { digest in
        let load = { digest.loadUnaligned(fromByteOffset: $0, as: UInt64.self) }
        return (UInt64(bigEndian: load(0)), UInt64(bigEndian: load(8)))
      }
    }

    /// Nil if the bytes are not the text of an id.
    fileprivate init?(_ text: Slice<UnsafeRawBufferPointer>) {
      guard text.count == 32, let high = UInt64(hexDigits: text.prefix(16)),
        let low = UInt64(hexDigits: text.dropFirst(16))
      else { return nil }
      (self.high, self.low) = (high, low)
    }

    var text: String {
      high.hexDigits + low.hexDigits
    }
  }

  package var id: String
  package var state: TransferResult.State
  /// Without secrets; of a file of this machine its path.
  package var url: String
  /// The path or the address that was asked for, without secrets.
  package var target: String
  /// Whether the target is of this file alone; null if it is not known. Otherwise the server names
  /// what it gets there.
  package var exclusive: Bool?
  /// The file on this machine, if it is complete.
  package var path: String?
  package var code: String?
  package var message: String?
  /// Whether another run may succeed without any change; null if it is complete.
  package var retryable: Bool?
  package var bytes: Int64
  /// As `sha-256=HEX`.
  package var checksum: String?
  /// What proves the content.
  package var verified: TransferResult.Verification?
  /// When the file of this machine had changed last, in seconds since 1970: one that was sent,
  /// before that; one that was got, after it.
  package var modified: Double?
  package var attempts: Int
  package var seconds: Double
  /// When it ended, in seconds since 1970.
  package var time: Double

  /// - Parameter request: with absolute paths.
  package init(_ result: TransferResult, of request: TransferRequest, wallSeconds: Double) {
    // What may be wrong is not left out of the next run.
    let isAllowed = request.download?.allowUnverified ?? false
    let warning =
      result.state == .completed ? result.warning(allowingUnverified: isAllowed) : nil
    id = ID(of: request).text
    state = result.strictState(allowingUnverified: isAllowed)
    url = request.localSource ?? request.source?.redacted ?? ""
    target = request.shownTarget
    // Two targets may be the same without their secrets.
    exclusive = request.namesTarget && !target.hasBytes("***")
    path = state == .completed ? result.path.map(WorkingDirectory.absolute) : nil
    code = warning?.code ?? result.error?.code.rawValue
    message = warning?.text ?? result.error.map(\.commandLineText)
    retryable = warning == nil ? result.error?.isTemporary : false
    bytes = result.bytes
    // Of a remote source, it was compared before the file was stored.
    let compared =
      state == .completed && !result.isAdopted ? request.upload?.download?.checksums : nil
    checksum = (result.checksums.first ?? compared?.first)?.description
    verified = result.verified
    attempts = (result.metrics?.retries ?? 0) + 1
    seconds = JSONNumber.seconds(result.duration)
    time = JSONNumber.seconds(wallSeconds) ?? 0
  }
}

extension ManifestLine {
  private enum Key: String, CodingKey {
    case id, state, url, target, exclusive, path, code, message, retryable, bytes, checksum,
      verified
    case modified, attempts, seconds, time
  }

  /// All keys but the first two, null if unknown.
  package func encode(to encoder: any Encoder) throws {
    var line = encoder.container(keyedBy: Key.self)
    try line.encode(url, forKey: .url)
    try line.encode(target, forKey: .target)
    try line.encode(exclusive, forKey: .exclusive)
    try line.encode(path, forKey: .path)
    try line.encode(code, forKey: .code)
    try line.encode(message, forKey: .message)
    try line.encode(retryable, forKey: .retryable)
    try line.encode(bytes, forKey: .bytes)
    try line.encode(checksum, forKey: .checksum)
    try line.encode(verified, forKey: .verified)
    try line.encode(modified, forKey: .modified)
    try line.encode(attempts, forKey: .attempts)
    try line.encode(seconds, forKey: .seconds)
    try line.encode(time, forKey: .time)
  }

  private static let first: StaticString = #"{"id":""#
  private static let second: StaticString = #"","state":""#
  private static let completed: StaticString = #"completed","#

  /// The line, with its line break. Its id and its state come first, so that a long manifest is
  /// read fast.
  package func text() throws -> String {
    let json = try JSONLines.line(of: self)
    let start = #"\#(Self.first)\#(id)","state":"\#(state.rawValue)","#
    return start + json.dropFirst()
  }

  /// The id, and whether the line says that the file is complete; nil for a line of no file.
  static func end(_ line: ArraySlice<UInt8>) -> (id: ID, isComplete: Bool)? {
    line.withUnsafeBytes { line in
      let (begin, end) = (first.utf8CodeUnitCount, first.utf8CodeUnitCount + 32)
      guard line.has(first, at: 0), line.has(second, at: end), let id = ID(line[begin..<end])
      else { return nil }
      let isWhole = line.last == UInt8(ascii: "}")
      return (id, isWhole && line.has(completed, at: end + second.utf8CodeUnitCount))
    }
  }

  /// Whether it is a line of a manifest.
  static func isOne(_ line: ArraySlice<UInt8>) -> Bool { end(line) != nil || files(line) != nil }

  /// The line with which a run begins: how many files its input has.
  package static func beginning(files: Int) -> String { "{\"files\":\(files)}\n" }

  private static let start = #"{"files":"#

  /// Whether it is empty or a part of such a line: the run was ended in its midst.
  static func mayBegin(_ line: some Collection<UInt8>) -> Bool {
    zip(line, start.utf8).allSatisfy(==)
  }

  /// How many files the input of a run has; nil for any other line.
  static func files(_ line: some Collection<UInt8>) -> Int? {
    guard line.starts(with: start.utf8) else { return nil }
    let rest = String(decoding: line.dropFirst(start.utf8.count), as: UTF8.self)
    return rest.hasByteSuffix("}") ? Int(rest.dropLast()) : nil
  }

  /// Nil for a line that was not written to its end, and for one of another kind.
  package init?(_ line: some Collection<UInt8>) {
    guard let read = try? JSONDecoder().decode(Self.self, from: Data(line)) else { return nil }
    self = read
  }
}

extension UnsafeRawBufferPointer {
  /// Whether these bytes are at an offset. By the C library: a manifest may have a million lines.
  fileprivate func has(_ text: StaticString, at offset: Int) -> Bool {
    guard let base = baseAddress, count >= offset + text.utf8CodeUnitCount else { return false }
    return memcmp(base + offset, text.utf8Start, text.utf8CodeUnitCount) == 0
  }
}

extension TransferRequest {
  /// The file of this machine that is uploaded; nil for none.
  var localSource: String? {
    if case .file(let path)? = upload?.source { path } else { nil }
  }

  /// The address that is read; that of the upload for a file of this machine.
  fileprivate var source: ResourceURL? { upload?.download?.url ?? url }

  /// The target, without secrets.
  var shownTarget: String { upload?.url.redacted ?? targetText }

  /// Whether the target is of this file alone; otherwise the server says what it is called.
  var namesTarget: Bool {
    if let upload { return upload.method.uploadProtocol.namesFile }
    return download.map { !$0.usesSuggestedName } ?? false
  }

  /// The path or the address that it was asked for.
  fileprivate var targetText: String {
    switch work {
    case .upload(let upload): return upload.url.exactResourceText
    case .step: return ""
    case .download(let download):
      switch download.destination {
      case .file(let path): return FilePath(path).text
      case .directory(let path):
        return FilePath(path).text.appendingPath(
          download.usesSuggestedName ? "" : FileName(download.url).text)
      case .stream: return "-"
      }
    }
  }
}
