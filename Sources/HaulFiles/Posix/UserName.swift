import HaulLibC

/// Users of this machine, by name.
enum UserName {
  /// `name (user 1000)`, or `user 1000` without a known name.
  static func text(_ number: UInt32) -> String {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var texts = [CChar](repeating: 0, count: 16 << 10)
    return texts.withUnsafeMutableBufferPointer { buffer in
      guard let room = buffer.baseAddress,
        getpwuid_r(number, &entry, room, buffer.count, &found) == 0, found != nil,
        let name = entry.pw_name
      else { return "user \(number)" }
      return "\(Printable.text(String(cString: name))) (user \(number))"
    }
  }
}
