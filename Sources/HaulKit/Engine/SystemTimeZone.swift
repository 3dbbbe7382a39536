import FoundationEssentials
import HaulCore

/// A time zone of the system, or of a name.
///
/// `FoundationEssentials` alone knows offsets from UTC and nothing else. The zones are in the rest
/// of Foundation, which the store's library brings into every program that has this module; where
/// they are not, every zone is refused, and none taken for UTC.
struct SystemTimeZone: LocalTime {
  private let zone: TimeZone

  /// - Parameter name: of the time zone database; nil for the system's zone.
  /// - Throws: `internal` for a name that nobody knows.
  init(_ name: String?) throws(TransferError) {
    guard TimeZone(identifier: "Etc/UTC") != nil else {
      throw TransferError(.internal, "this program knows no time zones")
    }
    guard let zone = name.map({ TimeZone(identifier: $0) }) ?? .autoupdatingCurrent else {
      throw TransferError(.internal, "there is no time zone \(name ?? "")")
    }
    self.zone = zone
  }

  func offset(at seconds: Int64) -> Int64 {
    Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
  }
}

extension LocalSchedule {
  /// - Throws: `internal` for a time zone that nobody knows, and a window whose minutes are none of
  ///   a day.
  package init(_ schedule: Schedule) throws(TransferError) {
    try self.init(schedule, at: SystemTimeZone(schedule.timeZone))
  }
}
