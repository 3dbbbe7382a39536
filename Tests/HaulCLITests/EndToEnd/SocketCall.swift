import Foundation
import HaulLibC
import Testing

/// One call of the control interface, as text, over its socket or a port.
struct SocketCall {
  enum Endpoint {
    case socket(String)
    /// Of 127.0.0.1.
    case port(Int)
  }

  let status: Int
  let head: String
  let body: String

  /// - Parameter fields: lines of the head, in place of the usual `Host`.
  init(
    _ method: String, _ path: String, _ fields: [String] = ["Host: localhost"],
    body text: String? = nil, to socket: String
  ) throws {
    try self.init(method, path, fields, body: text, at: .socket(socket))
  }

  init(
    _ method: String, _ path: String, _ fields: [String], body text: String? = nil,
    at endpoint: Endpoint
  ) throws {
    var lines = ["\(method) \(path) HTTP/1.1", "Connection: close"] + fields
    if let text { lines.append("Content-Length: \(text.utf8.count)") }
    let file = try Self.connection(to: endpoint)
    try file.write(
      contentsOf: Data((lines.joined(separator: "\r\n") + "\r\n\r\n" + (text ?? "")).utf8))
    try self.init(readingFrom: file)
  }

  /// Reads the answer of a call that was sent.
  init(readingFrom file: FileHandle) throws {
    let answer = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    let parts = answer.components(separatedBy: "\r\n\r\n")
    head = parts[0]
    body = parts.dropFirst().joined(separator: "\r\n\r\n")
    status = try #require(Int(head.split(separator: " ").dropFirst().first ?? ""), "\(answer)")
  }

  /// Begins a call whose answer does not end.
  /// - Returns: its connection, once the answer has this.
  static func begin(_ path: String, until part: String, to socket: String) throws -> FileHandle {
    try begin(path, until: part, ["Host: localhost"], at: .socket(socket))
  }

  static func begin(
    _ path: String, until part: String, _ fields: [String], at endpoint: Endpoint
  ) throws -> FileHandle {
    let file = try connection(to: endpoint)
    let lines = ["GET \(path) HTTP/1.1"] + fields
    try file.write(contentsOf: Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
    var answer = ""
    while !answer.contains(part) {
      let data = file.availableData
      try #require(!data.isEmpty, "\(answer)")
      answer += String(decoding: data, as: UTF8.self)
    }
    return file
  }

  /// Sends a call, and does not wait for its answer.
  static func send(_ path: String, at endpoint: Endpoint) throws -> FileHandle {
    let file = try connection(to: endpoint)
    let head = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    try file.write(contentsOf: Data(head.utf8))
    return file
  }

  static func connection(to endpoint: Endpoint) throws -> FileHandle {
    switch endpoint {
    case .socket(let path):
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      return try connection(AF_UNIX, &address)
    case .port(let port):
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(port).bigEndian
      address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
      return try connection(AF_INET, &address)
    }
  }

  private static func connection<Address>(
    _ family: Int32, _ address: inout Address
  ) throws -> FileHandle {
    let descriptor = HaulLibC.socket(family, Int32(SOCK_STREAM.rawValue), 0)
    try #require(descriptor >= 0)
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
    try #require(code == 0)
    return file
  }
}
