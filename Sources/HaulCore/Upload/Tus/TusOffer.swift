/// What a tus server says of itself: its answer to OPTIONS.
struct TusOffer: Hashable, Sendable {
  /// An algorithm by the server's name for it.
  struct Algorithm: Hashable, Sendable {
    let name: String
    let algorithm: Checksum.Algorithm
  }

  private let versions: Set<String>
  private let extensions: Set<String>
  /// Whether the answer is one of tus. Others are of a proxy, or of a server without OPTIONS.
  var isKnown: Bool { !versions.isEmpty || !extensions.isEmpty }
  /// The most bytes of an upload; nil if the server does not say.
  let maximumSize: Int64?
  /// What the server checks the bytes of a request with; nil for nothing that is known here.
  let checksum: Algorithm?

  /// Whether it answered so soon that one connection is as fast as several.
  let isNear: Bool

  /// - Parameter delay: the time from the question to the answer.
  init(_ headers: HeaderFields = HeaderFields(), after delay: Duration = .zero) {
    isNear = delay < TusParts.near
    func list(_ name: String) -> [String] {
      headers[name]?.byteSplit { ", \t".utf8.contains($0) }.map { String($0) } ?? []
    }
    (versions, extensions) = (Set(list("Tus-Version")), Set(list("Tus-Extension")))
    maximumSize = headers.single("Tus-Max-Size").flatMap { Int64($0) }
    let known = list("Tus-Checksum-Algorithm").compactMap { name in
      Checksum.Algorithm(name: name).map { Algorithm(name: name, algorithm: $0) }
    }
    let best = Self.preferred.lazy.compactMap { wanted in
      known.first { $0.algorithm == wanted }
    }.first
    checksum = extensions.contains("checksum") ? best : nil
  }

  private static let preferred: [Checksum.Algorithm] = [.sha256, .sha512, .sha384, .sha1, .md5]

  static let version = "1.0.0"

  var speaksTus: Bool { versions.contains(Self.version) }
  var creates: Bool { extensions.contains("creation") }
  /// Whether an upload may begin without its length.
  var defersLength: Bool { extensions.contains("creation-defer-length") }
  /// Whether the server makes one upload of several.
  var joins: Bool { extensions.contains("concatenation") }
}
