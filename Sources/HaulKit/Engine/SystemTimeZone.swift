import FoundationEssentials
import HaulCore

#if canImport(FoundationInternationalization)
  // Contains the time zones; no name of this module is used.
  import FoundationInternationalization
#else
  import Foundation
#endif

/// The time zone of the system, or one with a name.
///
/// `FoundationEssentials` alone knows only offsets from UTC. Without the rest of Foundation, every
/// zone is refused, so that none is mistaken for UTC.
struct SystemTimeZone: TimeZoneOffsets {
  private let zone: TimeZone

  /// - Parameter name: from the time zone database; nil for the system's zone.
  /// - Throws: `refused` for an unknown name.
  init(_ name: String?) throws(TransferError) {
    guard TimeZone(identifier: "Etc/UTC") != nil else {
      throw TransferError(.internal, "no time zones are installed")
    }
    guard let zone = name.map({ TimeZone(identifier: $0) }) ?? .autoupdatingCurrent else {
      throw TransferError(.refused, "unknown time zone \(name ?? "")")
    }
    self.zone = zone
  }

  func offset(at seconds: Int64) -> Int64 {
    Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
  }
}

extension LocalSchedule {
  /// - Throws: `refused` for an unknown time zone, or a window outside the minutes of a day.
  package init(_ schedule: Schedule) throws(TransferError) {
    try self.init(schedule, at: SystemTimeZone(schedule.timeZone))
  }
}
