import HaulCore
import NIOConcurrencyHelpers

/// Passes on which lists of the watch folder were not added. What nobody reads then is not kept:
/// the folder has the list, and why it failed.
package struct FailedLists: Sendable {
  private struct Readers {
    var next = 0
    var all: [Int: AsyncStream<Notice>.Continuation] = [:]
  }

  private let readers = NIOLockedValueBox(Readers())

  package init() {}

  package func report(_ notice: Notice) {
    for reader in readers.withLockedValue({ Array($0.all.values) }) { reader.yield(notice) }
  }

  /// Those that are reported from now on, until the reader is cancelled.
  package func notices() -> AsyncStream<Notice> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Notice.self, bufferingPolicy: .bufferingNewest(256))
    let number = readers.withLockedValue { readers in
      readers.next += 1
      readers.all[readers.next] = continuation
      return readers.next
    }
    continuation.onTermination = { [readers] _ in
      readers.withLockedValue { _ = $0.all.removeValue(forKey: number) }
    }
    return stream
  }
}

extension Notice {
  /// A list of the watch folder that was not added.
  /// - Parameters:
  ///   - path: where it is now.
  ///   - time: the present time, in seconds since 1970.
  package static func failed(
    list name: String, path: String?, reason: String, time: Double
  ) -> Notice {
    var notice = Notice(
      id: "list-\(RandomText.make(words: 1))", number: 0, kind: .list, name: name, time: time,
      title: "list \(shown(name)): failed", text: shown(reason, textCells))
    (notice.state, notice.path) = (.failed, path)
    return notice
  }
}
