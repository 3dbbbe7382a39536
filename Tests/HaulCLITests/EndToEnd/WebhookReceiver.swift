import Foundation
import HaulLibC
import NIOConcurrencyHelpers
import Testing

/// A server on a loopback port that takes webhooks, one connection after the other.
final class WebhookReceiver: Sendable {
  struct Message: Sendable {
    let line: String
    /// Names in lower case.
    let fields: [String: String]
    let body: String

    var id: String { fields["idempotency-key"] ?? "" }
  }

  enum Answer: Sendable {
    case status(Int)
    /// The connection stays open without an answer.
    case hold
  }

  let port: Int
  private let listener: Int32
  private let answers: NIOLockedValueBox<[Answer]>
  private let held = NIOLockedValueBox<[FileHandle]>([])
  private let stream: AsyncStream<Message>

  /// - Parameter answers: the first ones; all others are 204.
  init(_ answers: [Answer] = []) throws {
    self.answers = NIOLockedValueBox(answers)
    let listener = HaulLibC.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 16) == 0
          && getsockname(listener, $0, &size) == 0
      }
    }
    try #require(code)
    (self.listener, port) = (listener, Int(UInt16(bigEndian: address.sin_port)))
    let (stream, messages) = AsyncStream.makeStream(of: Message.self)
    self.stream = stream
    Thread.detachNewThread { [self] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return messages.finish() }
        let file = FileHandle(fileDescriptor: connection, closeOnDealloc: true)
        if let message = Self.read(file) {
          answer(file)
          messages.yield(message)
        }
      }
    }
  }

  func close() { shutdown(listener, Int32(SHUT_RDWR)) }

  /// Returns the messages until one has this in its body, and that one.
  func messages(until part: String) async -> [Message] {
    var all: [Message] = []
    for await message in stream {
      all.append(message)
      if message.body.contains(part) { break }
    }
    return all
  }

  private func answer(_ file: FileHandle) {
    let answer = answers.withLockedValue { $0.isEmpty ? .status(204) : $0.removeFirst() }
    switch answer {
    case .hold: held.withLockedValue { $0.append(file) }
    case .status(let status):
      let head = "HTTP/1.1 \(status) X\r\nContent-Length: 0\r\nConnection: close\r\n"
      let location = (300..<400).contains(status) ? "Location: /elsewhere\r\n" : ""
      // The sender may be gone.
      try? file.write(contentsOf: Data("\(head)\(location)\r\n".utf8))
    }
  }

  /// Nil if the connection ends before the whole message.
  private static func read(_ file: FileHandle) -> Message? {
    var data = Data()
    while true {
      let text = String(decoding: data, as: UTF8.self)
      if let head = text.components(separatedBy: "\r\n\r\n").first, head.count < text.count {
        let lines = head.components(separatedBy: "\r\n")
        let fields = lines.dropFirst().reduce(into: [String: String]()) { fields, line in
          let parts = line.split(separator: ":", maxSplits: 1)
          fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let body = Data(data.dropFirst(head.utf8.count + 4))
        if body.count >= Int(fields["content-length"] ?? "0") ?? 0 {
          return Message(
            line: lines[0], fields: fields, body: String(decoding: body, as: UTF8.self))
        }
      }
      let more = file.availableData
      guard !more.isEmpty else { return nil }
      data += more
    }
  }
}
