package import HaulCore

/// The request fields that selected a response (RFC 9111, section 4.1).
package enum VaryNames: Hashable, Sendable {
  /// `Vary: *`: it fits no other request.
  case everything
  /// In lower case, sorted, each once.
  case names([String])

  /// `Accept-Encoding` is left out, because every request of Haul has the same.
  package init(_ headers: HeaderFields) {
    let names = headers.values(of: "Vary").joined(separator: ",").lowercased()
      .byteSplit { ", \t".utf8.contains($0) }.map(String.init)
    guard !names.contains(where: { $0.isByteEqual("*") }) else {
      self = .everything
      return
    }
    self = .names(Set(names).subtracting(["accept-encoding"]).sorted())
  }

  /// The fields of a request that have these names. Lines of one name are joined, and spaces around
  /// values do not count. A field that the request lacks is not listed.
  package func selection(of request: HeaderFields) -> [HeaderFields.Field] {
    switch self {
    case .everything:
      VaryNames.names(Set(request.fields.map { $0.name.lowercased() }).sorted())
        .selection(of: request)
    case .names(let names):
      request.fields.isEmpty
        ? []
        : names.compactMap { name in
          let values = request.values(of: name)
          guard !values.isEmpty else { return nil }
          let value = values.map { $0.trimmingBytes(" \t") }.joined(separator: ", ")
          return HeaderFields.Field(name: name, value: value)
        }
    }
  }
}
