package import HaulCore

/// Status and header fields of a response as a cache keeps them (RFC 9111, section 3).
package struct StoredResponse: Hashable, Sendable, Codable {
  package var status: Int
  package private(set) var headers: HeaderFields
  /// Wall time of the request, in seconds since 1970.
  package private(set) var requestedAt: Double
  /// Wall time of the response, in seconds since 1970.
  package private(set) var answeredAt: Double

  package init(status: Int, headers: HeaderFields, requestedAt: Double, answeredAt: Double) {
    self.status = status
    self.headers = HeaderFields(Self.storable(headers))
    self.requestedAt = requestedAt
    self.answeredAt = answeredAt
  }

  /// What a response is stored as. One of a redirect's target is used for its request only, because
  /// the redirect may lead elsewhere by then.
  package init(_ response: ResourceResponse) {
    var headers = response.headers
    if response.wasRedirected { headers.append("Cache-Control", "no-store") }
    self.init(
      status: response.status, headers: headers, requestedAt: response.requestedAt,
      answeredAt: response.answeredAt)
  }

  /// Whether a private cache may keep it (section 3). It keeps whole answers only: 200 and 203.
  /// `no-store` also wins over `must-understand`.
  package func isStorable(to request: CacheControl) -> Bool {
    guard status == 200 || status == 203, !request.noStore else { return false }
    return !CacheControl(headers).noStore && VaryNames(headers) != .everything
  }

  /// The fields that ask the server whether this is still the current version (section 4.3.1).
  package var conditions: [HeaderFields.Field] {
    var fields: [HeaderFields.Field] = []
    let validator = Validator(headers, now: answeredAt)
    if let tag = validator.entityTag {
      fields.append(HeaderFields.Field(name: "If-None-Match", value: tag))
    }
    if let date = validator.lastModified, HTTPDate(date, now: answeredAt) != nil {
      fields.append(HeaderFields.Field(name: "If-Modified-Since", value: date))
    }
    return fields
  }

  /// Whether a 304 speaks of this response (section 4.3.4): an entity tag must be equal, otherwise
  /// the date. A 304 without either confirms what was asked, and nothing if that was nothing.
  package func isConfirmed(by headers: HeaderFields) -> Bool {
    guard !conditions.isEmpty else { return false }
    let (ours, theirs) = (self.headers, headers)
    if let their = theirs["ETag"] {
      guard let their = EntityTag(their), let our = ours["ETag"].flatMap({ EntityTag($0) }) else {
        return false
      }
      return our.weaklyMatches(their)
    }
    if let date = theirs["Last-Modified"] {
      return ours["Last-Modified"].map(date.isByteEqual) ?? false
    }
    return true
  }

  /// This response with the fields of a 304 (sections 3.2 and 4.3.4).
  package func refreshed(
    by headers: HeaderFields, requestedAt: Double, answeredAt: Double
  ) -> StoredResponse {
    let news = Self.storable(headers).filter { !Self.ofBody.contains($0.name.lowercased()) }
    let names = Set(news.map { $0.name.lowercased() })
    // `Age` belongs to one answer: the old one says nothing about the new.
    let kept = self.headers.filter {
      let name = $0.name.lowercased()
      return !names.contains(name) && name != "age"
    }
    return StoredResponse(
      status: status, headers: HeaderFields(kept + news), requestedAt: requestedAt,
      answeredAt: answeredAt)
  }
}

extension StoredResponse {
  /// The fields to keep (section 3.1). Cookies are secrets, and nothing here reads them. What
  /// `Connection` lists is not kept, unless it decides about the copy: a cache obeys it first (RFC
  /// 9110, section 7.6.1, is about forwarding).
  private static func storable(_ headers: HeaderFields) -> [HeaderFields.Field] {
    let listed = headers.values(of: "Connection").joined(separator: ",").lowercased()
      .byteSplit { ", \t".utf8.contains($0) }.map(String.init)
    let dropped = ofConnection.union(Set(listed).subtracting(ofCaching))
    return headers.fields.filter { !dropped.contains($0.name.lowercased()) }
  }

  private static let ofConnection: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
    "upgrade", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    "set-cookie", "set-cookie2",
  ]

  private static let ofCaching: Set<String> = [
    "cache-control", "expires", "pragma", "vary", "age", "date", "etag", "last-modified",
  ]

  /// A 304 does not change these, because they describe the stored bytes.
  private static let ofBody: Set<String> = [
    "content-length", "content-encoding", "content-range", "content-type", "content-digest",
  ]
}
