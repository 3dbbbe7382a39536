import CHaulPage
import HTTPTypes
import Hummingbird

/// The files of the web page, which are part of the program. They hold nothing secret.
enum WebPageFiles {
  private struct File {
    let type: String
    let body: ByteBuffer
  }

  /// By path.
  private static let files: [String: File] = {
    var count = 0
    let first = haul_page_files(&count)
    let pairs = UnsafeBufferPointer(start: first, count: count).map { file in
      let name = String(cString: file.name)
      let bytes = UnsafeBufferPointer(start: file.bytes, count: file.count)
      return (
        name == "index.html" ? "/" : "/\(name)",
        File(type: String(cString: file.type), body: ByteBuffer(bytes: bytes))
      )
    }
    return Dictionary(uniqueKeysWithValues: pairs)
  }()

  static func has(_ path: String) -> Bool { files[path] != nil }

  static func addRoutes(to router: Router<ConnectionContext>) {
    for (path, file) in files {
      router.get(RouterPath(path)) { _, _ in
        Response(
          status: .ok, headers: fields(file.type), body: ResponseBody(byteBuffer: file.body))
      }
    }
  }

  /// Nothing from elsewhere, no code in the page itself, and no frame around it.
  private static let policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
    "connect-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].joined(separator: "; ")

  static func fields(_ type: String) -> HTTPFields {
    var fields = HTTPFields()
    fields[.contentType] = type
    fields[.cacheControl] = "no-store"
    fields[.xContentTypeOptions] = "nosniff"
    fields[.contentSecurityPolicy] = policy
    let others = [
      ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"),
      ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Resource-Policy", "same-origin"),
    ]
    for (name, value) in others {
      if let name = HTTPField.Name(name) { fields[name] = value }
    }
    return fields
  }
}
