import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Moves a damaged database aside, whole: with its log under names that belong together.
struct Quarantine {
  let place: StorePlace

  /// The new name of the database.
  /// - Throws: `io`, `permission-denied`, `disk-full`.
  func move(at wallSeconds: Double) throws(TransferError) -> String {
    let aside = freeName(Int64(wallSeconds))
    // The database first: a log without one is noticed by the next opening, the reverse is not.
    for suffix in [""] + StorePlace.companions {
      let from = place.database + suffix
      guard rename(from, aside + suffix) == 0 || errno == ENOENT else {
        throw place.failure("move \(from) aside")
      }
    }
    try place.sync(place.path)
    return aside
  }

  private func freeName(_ seconds: Int64) -> String {
    let name = "\(place.database).corrupt-\(seconds)"
    var candidate = name
    var number = 1
    while (StorePlace.companions + [""]).contains(where: { access(candidate + $0, F_OK) == 0 }) {
      number += 1
      candidate = "\(name)-\(number)"
    }
    return candidate
  }
}
