import HaulLibC

/// Users of this machine, by name.
package enum UserName {
  /// `name (user 1000)`, or `user 1000` without a known name.
  static func text(_ number: UInt32) -> String {
    found({ getpwuid_r(number, $0, $1, $2, $3) }) { entry in
      entry.pw_name.map { "\(Printable.text(String(cString: $0))) (user \(number))" }
    } ?? "user \(number)"
  }

  /// The number of a user; nil if there is none of this name. A number need not have a name, as
  /// that of a user in a container has none.
  package static func number(_ name: String) -> UInt32? {
    if let number = UInt32(name) { return number }
    guard !name.utf8.contains(0) else { return nil }
    return found({ getpwnam_r(name, $0, $1, $2, $3) }) { $0.pw_uid }
  }

  private typealias Search = (
    UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
    UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
  ) -> Int32

  private static func found<Value>(_ search: Search, _ value: (passwd) -> Value?) -> Value? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var texts = [CChar](repeating: 0, count: 16 << 10)
    return texts.withUnsafeMutableBufferPointer { buffer in
      guard let room = buffer.baseAddress, search(&entry, room, buffer.count, &found) == 0,
        found != nil
      else { return nil }
      return value(entry)
    }
  }
}
