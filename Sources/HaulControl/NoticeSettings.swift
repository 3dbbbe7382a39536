package import HaulCore

/// Where notices go when transfers and groups end, and which ends they report.
package struct NoticeSettings: Hashable, Sendable {
  /// Which ends are reported.
  package enum Level: String, CaseIterable, Sendable {
    case all
    /// Failed transfers and lists, groups with a failed member, and long waits.
    case failures
    /// Groups, and transfers without a group that have changed something.
    case groups
    case none

    package func includes(_ notice: Notice) -> Bool {
      switch self {
      case .none: false
      case .all: true
      case .failures: [.dropped, .waiting].contains(notice.kind) || notice.state == .failed
      case .groups:
        notice.kind != .transfer || notice.group == nil && notice.isUnchanged != true
      }
    }
  }

  package struct Webhook: Hashable, Sendable {
    /// Its path may be a secret: show its origin only.
    package var url: ResourceURL
    package var secret: NoticeSecret?
    /// Whether its host may have a private address.
    package var mayBePrivate: Bool

    package init(url: ResourceURL, secret: NoticeSecret? = nil, mayBePrivate: Bool = false) {
      (self.url, self.secret, self.mayBePrivate) = (url, secret, mayBePrivate)
    }
  }

  package var level = Level.all
  package var hasSound = true
  package var webhook: Webhook?
  /// A program and its arguments; empty for none.
  package var command: [String] = []

  package init() {}
}

/// The key of a webhook's signatures. Its descriptions do not show it.
package struct NoticeSecret: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package var description: String { "***" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
