/// Numbers of bytes as text.
package enum ByteCount {
  /// `512 B`, `1.5 KiB`, `12.0 MiB`; never negative, at most 10 characters.
  package static func text(_ count: Int64) -> String {
    let count = max(0, count)
    guard count >= 1024 else { return "\(count) B" }
    var value = Double(count) / 1024
    var unit = 0
    while value >= 1023.95, unit < names.count - 1 {
      value /= 1024
      unit += 1
    }
    let tenths = Int64((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) \(names[unit])"
  }

  /// Two numbers to compare: in exact bytes if their short texts would be equal.
  package static func texts(_ first: Int64, _ second: Int64) -> (String, String) {
    let short = (text(first), text(second))
    return first == second || short.0 != short.1 ? short : ("\(first) B", "\(second) B")
  }

  private static let names = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
}
