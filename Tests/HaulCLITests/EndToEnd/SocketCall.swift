import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// One call of the control interface, as text, over its socket.
struct SocketCall {
  let status: Int
  let head: String
  let body: String

  /// - Parameter fields: lines of the head, in place of the usual `Host`.
  init(
    _ method: String, _ path: String, _ fields: [String] = ["Host: localhost"],
    body text: String? = nil, to socket: String
  ) throws {
    var lines = ["\(method) \(path) HTTP/1.1", "Connection: close"] + fields
    if let text { lines.append("Content-Length: \(text.utf8.count)") }
    let answer = try Self.exchange(
      lines.joined(separator: "\r\n") + "\r\n\r\n" + (text ?? ""), socket)
    let parts = answer.components(separatedBy: "\r\n\r\n")
    head = parts[0]
    body = parts.dropFirst().joined(separator: "\r\n\r\n")
    status = try #require(Int(head.split(separator: " ").dropFirst().first ?? ""), "\(answer)")
  }

  private static func exchange(_ request: String, _ path: String) throws -> String {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    try #require(descriptor >= 0)
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(code == 0)
    try file.write(contentsOf: Data(request.utf8))
    return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
  }
}
