package import HaulCore

/// A header field of a transfer to set or to remove, in the body of `PATCH /api/v1/transfers/ID`.
package struct HeaderChange: Codable, Hashable, Sendable {
  /// The most of one call.
  package static let maximumCount = 100

  /// Another field of this name, in either case, is replaced.
  package var name: String
  /// Nil removes it.
  package var value: String?

  enum CodingKeys: String, CodingKey { case name, value }

  package init(name: String, value: String?) { (self.name, self.value) = (name, value) }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    name = try object.decode(String.self, forKey: .name)
    value = try object.decodeIfPresent(String.self, forKey: .value)
  }
}

extension HeaderFields {
  /// Sets or removes fields. Several new ones may have the same name.
  /// - Throws: `Problem` (422). Its message has no value: it may be a secret.
  package mutating func apply(_ changes: [HeaderChange]) throws(Problem) {
    let new = changes.compactMap { change in
      change.value.map { TransferBody.Header(name: change.name, value: $0) }
    }
    let checked = try Problem.checked(try HeaderFields(ofBody: new))
    for change in changes { remove(change.name) }
    for field in checked.fields { append(field.name, field.value) }
  }
}
