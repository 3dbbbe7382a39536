import HaulCore
import HaulLibC

/// Moves a damaged database aside as a whole, with its log under a matching name.
struct Quarantine {
  let directory: StoreDirectory

  /// The new name of the database.
  /// - Throws: `io`, `permission-denied`, `disk-full`.
  func move(at wallSeconds: Double) throws(TransferError) -> String {
    let aside = freeName(Int64(wallSeconds))
    // The database first: the next opening notices a log without a database, but not the reverse.
    for suffix in [""] + StoreDirectory.companions {
      let from = directory.database + suffix
      guard rename(from, aside + suffix) == 0 || errno == ENOENT else {
        throw directory.failure("move \(from) aside")
      }
    }
    try directory.sync(directory.path)
    return aside
  }

  private func freeName(_ seconds: Int64) -> String {
    let name = "\(directory.database).corrupt-\(seconds)"
    var candidate = name
    var number = 1
    while (StoreDirectory.companions + [""]).contains(where: { access(candidate + $0, F_OK) == 0 })
    {
      number += 1
      candidate = "\(name)-\(number)"
    }
    return candidate
  }
}
