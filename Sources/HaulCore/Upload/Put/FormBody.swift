/// A piece of the body of an upload.
package enum UploadPiece: Sendable, Hashable {
  case bytes([UInt8])
  /// Bytes of the file with that number among those of the upload, from 0.
  case file(Int, ByteRange)

  /// In bytes.
  package var length: Int64 {
    switch self {
    case .bytes(let bytes): Int64(bytes.count)
    case .file(_, let range): range.length
    }
  }
}

/// The body of a form: `multipart/form-data` (RFC 7578). Its length is known beforehand, and its
/// files are read while it is sent.
package struct FormBody: Sendable, Hashable {
  package let pieces: [UploadPiece]
  /// In bytes.
  package let length: Int64
  /// The value of `Content-Type`.
  package let contentType: String

  /// - Parameter lengths: of the files, in bytes, in the order of their parts.
  package init(
    _ parts: [FormPart], lengths: [Int64], using rng: inout some RandomNumberGenerator
  ) {
    // Nothing in the files can be known to lack it; 128 random bits are in none of them.
    let boundary = "haul-\((rng.next() as UInt64).hexDigits)\((rng.next() as UInt64).hexDigits)"
    var pieces: [UploadPiece] = []
    var text = ""
    var file = 0
    for part in parts {
      text += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(part.name))\""
      switch part.content {
      case .text(let value): text += "\r\n\r\n\(value)\r\n"
      case .file(let path):
        let name = path.pathParts.name
        let type = MediaType.ofFile(named: name) ?? "application/octet-stream"
        text += "; filename=\"\(Self.escaped(name))\"\r\nContent-Type: \(type)\r\n\r\n"
        pieces += [.bytes(Array(text.utf8)), .file(file, 0..<lengths[file])]
        (text, file) = ("\r\n", file + 1)
      }
    }
    pieces.append(.bytes(Array("\(text)--\(boundary)--\r\n".utf8)))
    self.pieces = pieces
    length = pieces.reduce(0) { $0 + $1.length }
    contentType = "multipart/form-data; boundary=\(boundary)"
  }

  /// As browsers write names (HTML, section 4.10.22.8): other characters are sent as UTF-8 (RFC
  /// 7578, section 5.1).
  private static func escaped(_ name: String) -> String {
    name.unicodeScalars.map { scalar in
      switch scalar {
      case "\"": "%22"
      case "\r": "%0D"
      case "\n": "%0A"
      default: String(scalar)
      }
    }.joined()
  }
}
