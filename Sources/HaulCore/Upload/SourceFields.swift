/// The fields that an object of a store gets from its remote source, whose bytes stay as they are.
extension ResponseHead {
  /// The fields by which readers understand the bytes. One that is not printable ASCII is left out:
  /// stores find the signature wrong. So is what does not fit: Amazon takes 2 KiB.
  package var fieldsOfBytes: HeaderFields {
    var fields = HeaderFields()
    var room = 2 << 10
    for name in Self.namesOfBytes {
      guard let value = valueOfBytes(name), !value.isEmpty,
        value.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
      else { continue }
      let length = name.utf8.count + value.utf8.count
      guard length <= room else { continue }
      room -= length
      fields.append(name, value)
    }
    return fields
  }

  private static let namesOfBytes = [
    "Content-Type", "Content-Encoding", "Content-Language", "Cache-Control", "Content-Disposition",
  ]

  private func valueOfBytes(_ name: String) -> String? {
    switch name {
    case "Content-Type":
      return headers.single(name).flatMap { $0.hasByte(UInt8(ascii: "/")) ? $0 : nil }
    // A store takes `aws-chunked` for the form of the request; some keep it with the object.
    case "Content-Encoding":
      return contentCoding?.byteSplit { ", ".utf8.contains($0) }
        .filter { $0.lowercased() != "aws-chunked" }.joined(separator: ", ")
    case "Content-Disposition": return headers.single(name)
    default: return headers.values(of: name).joined(separator: ", ")
    }
  }
}
