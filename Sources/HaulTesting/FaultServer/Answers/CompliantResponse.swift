import HaulCore

/// The answer of a correct server (RFC 9110) to one request of one resource.
struct CompliantResponse {
  /// What actions may change before the answer is created.
  struct View {
    var content: SeededContent
    var length: Int64
    var entityTag: String?
    var lastModified: Int64?
    var ignoresRange = false
    /// Nil: the validators decide.
    var ifRangeHolds: Bool?

    init(_ resource: FaultScript.Resource) {
      content = SeededContent(seed: resource.seed)
      length = resource.length
      entityTag = resource.entityTag
      lastModified = resource.lastModified
      ignoresRange = resource.acceptRanges == .none
    }
  }

  let resource: FaultScript.Resource
  let view: View
  let request: RequestFacts
  /// Seconds since 1970.
  let now: Int64
  let port: Int

  func draft() -> ResponseDraft {
    var draft = ResponseDraft(
      content: view.content, status: 200, total: view.length,
      payload: .content(0..<view.length), port: port)
    if let offset = resource.dateOffset { draft.set("Date", ServerDate.text(now + offset)) }
    if let redirect = resource.redirect {
      draft.replace(
        status: redirect.status, headers: ["Location: \(draft.expand(redirect.location))"])
      return draft
    }
    if request.method == "PUT" {
      draft.replace(status: 201)
      // As of a server that stores it (RFC 9110, section 9.3.4); an S3 store always sends one.
      if let tag = view.entityTag { draft.set("ETag", tag) }
      return draft
    }
    addFields(to: &draft)
    if isNotModified {
      draft.replace(status: 304)
    } else if let range = request.range, !view.ignoresRange, ifRangeHolds {
      serve(range, in: &draft)
    }
    return draft
  }

  private func addFields(to draft: inout ResponseDraft) {
    if let type = resource.contentType { draft.set("Content-Type", type) }
    if let disposition = resource.contentDisposition {
      draft.set("Content-Disposition", disposition)
    }
    if let tag = view.entityTag { draft.set("ETag", tag) }
    if let modified = view.lastModified { draft.set("Last-Modified", ServerDate.text(modified)) }
    switch resource.acceptRanges {
    case .bytes: draft.set("Accept-Ranges", "bytes")
    case .none: draft.set("Accept-Ranges", "none")
    case .absent: break
    }
    for line in resource.headers {
      let (name, value) = ResponseDraft.split(line)
      draft.add(name, value)
    }
  }

  private func serve(_ range: RangeHeader, in draft: inout ResponseDraft) {
    guard let bytes = range.resolved(in: view.length) else {
      draft.replace(status: 416, headers: ["Content-Range: bytes */\(view.length)"])
      return
    }
    draft.status = 206
    draft.claimed = bytes
    draft.payload = .content(bytes)
  }

  /// Strong comparison of tags, exact comparison of strong dates (RFC 9110, section 13.1.5).
  private var ifRangeHolds: Bool {
    guard let validator = request.headers["If-Range"] else { return true }
    if let forced = view.ifRangeHolds { return forced }
    if validator.hasPrefix("\"") { return validator == view.entityTag }
    guard let modified = view.lastModified else { return false }
    let isStrong = resource.dateOffset.map { now + $0 - modified >= 1 } ?? true
    return isStrong && validator == ServerDate.text(modified)
  }

  /// Weak comparison of tags, else the date (RFC 9110, section 13.2.2).
  private var isNotModified: Bool {
    guard request.method == "GET" || request.method == "HEAD" else { return false }
    if let tags = request.headers["If-None-Match"] {
      let known = tags.split(separator: ",").map { opaque($0.drop { $0 == " " }) }
      return view.entityTag.map { known.contains(opaque($0[...])) || tags == "*" } ?? false
    }
    guard let date = request.headers["If-Modified-Since"] else { return false }
    return view.lastModified.map { ServerDate.text($0) == date } ?? false
  }

  private func opaque(_ tag: Substring) -> Substring {
    tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
  }
}
