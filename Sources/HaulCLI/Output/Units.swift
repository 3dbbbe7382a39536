import HaulCore

/// Bytes, rates and times as text.
enum Units {
  /// `512 B`, `1.5 KiB`, `12.0 MiB`; never negative, at most 10 characters.
  static func bytes(_ count: Int64) -> String { ByteCount.text(count) }

  /// Bytes per second; empty for a rate that is not a number.
  static func rate(_ bytesPerSecond: Double) -> String {
    guard bytesPerSecond.isFinite, bytesPerSecond >= 0, bytesPerSecond < 1e18 else { return "" }
    return "\(bytes(Int64(bytesPerSecond)))/s"
  }

  /// `0:09`, `12:34`, `1:02:03`, `12d 4h`; at most 8 characters; empty from 1000 days on.
  static func clock(seconds: Double) -> String {
    guard seconds.isFinite, seconds >= 0, seconds < 86_399_999 else { return "" }
    let whole = Int(seconds.rounded(.up))
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60)
    if hours >= 100 { return "\(hours / 24)d \(hours % 24)h" }
    if hours > 0 { return "\(hours):\(padded(minutes)):\(padded(rest))" }
    return "\(minutes):\(padded(rest))"
  }

  /// `0.4 s`, `12.0 s`, then as `clock`.
  static func span(_ duration: Duration) -> String {
    let seconds = max(0, self.seconds(duration))
    return seconds < 60 ? "\(tenths(seconds)) s" : clock(seconds: seconds)
  }

  /// `9,950`: whole numbers in groups of three digits.
  static func count(_ number: Int) -> String {
    let digits = Array(String(max(0, number)))
    return digits.indices.reduce(into: "") { text, index in
      if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
      text.append(digits[index])
    }
  }

  static func seconds(_ duration: Duration) -> Double {
    Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
  }

  private static func tenths(_ value: Double) -> String {
    let all = Int64((value * 10).rounded())
    return "\(all / 10).\(all % 10)"
  }

  private static func padded(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}
