/// An option of a request where it leaves this process: in the daemon's interface, as JSON, and in
/// the store. What these write and read follows from it.
package struct RequestField<Request: Sendable>: Sendable {
  fileprivate let json: FieldCoding<Request>?
  fileprivate let stored: FieldCoding<Request>?
  fileprivate let isOfSource: Bool

  /// - Parameters:
  ///   - key: of the interface, where a missing key stands for the default; nil if it is not there,
  ///     or in a way of its own.
  ///   - stored: the key of the store; nil if it has a column of its own.
  ///   - missing: what a missing key of the store stands for. It never changes, so new defaults of
  ///     the library do not change stored requests.
  ///   - isOfSource: whether the interface has it for the remote source of an upload too.
  init<Value: Codable & Equatable & Sendable>(
    _ path: any WritableKeyPath<Request, Value> & Sendable, _ key: String? = nil,
    _ form: FieldForm<Value> = .plain, stored: String? = nil,
    as storedForm: FieldForm<Value> = .plain, missing: Value, isOfSource: Bool = false
  ) {
    // The interface writes every option that has a value.
    let isOptional = Value.self is any ExpressibleByNilLiteral.Type
    json = key.map {
      FieldCoding($0, path, form, leftOut: isOptional ? missing : nil, missing: nil)
    }
    self.stored = stored.map {
      FieldCoding($0, path, storedForm, leftOut: missing, missing: missing)
    }
    self.isOfSource = isOfSource
  }
}

/// The fields of one kind of request.
package struct RequestFields<Request: Sendable>: Sendable {
  /// Those of the interface.
  package let json: [FieldCoding<Request>]
  /// Those that the interface has for the remote source of an upload.
  package let source: [FieldCoding<Request>]
  package let stored: [FieldCoding<Request>]

  init(_ fields: [RequestField<Request>]) {
    json = fields.compactMap(\.json)
    source = fields.filter(\.isOfSource).compactMap(\.json)
    stored = fields.compactMap(\.stored)
  }
}

/// How one option is written to an object, and read from it.
package struct FieldCoding<Request: Sendable>: Sendable {
  fileprivate let key: AnyKey
  fileprivate let write: @Sendable (Request, inout KeyedEncodingContainer<AnyKey>) throws -> Void
  fileprivate let read: @Sendable (KeyedDecodingContainer<AnyKey>) throws -> FieldChange<Request>?

  fileprivate init<Value: Equatable & Sendable>(
    _ name: String, _ path: any WritableKeyPath<Request, Value> & Sendable,
    _ form: FieldForm<Value>, leftOut: Value?, missing: Value?
  ) {
    let key = AnyKey(stringValue: name)
    self.key = key
    write = { request, object in
      let value = request[keyPath: path]
      if value != leftOut { try form.write(value, key, &object) }
    }
    read = { object in
      guard let value = try form.read(object, key) else {
        return missing.map { missing in FieldChange { $0[keyPath: path] = missing } }
      }
      return FieldChange { (request) throws(WrongValue) in request[keyPath: path] = try value() }
    }
  }
}

/// Sets an option to the value that was read, which is checked only then.
package struct FieldChange<Request: Sendable>: Sendable {
  fileprivate let apply: @Sendable (inout Request) throws(WrongValue) -> Void
}

/// A value that no request can have. Its message has no secret.
package struct WrongValue: Error {
  package let message: String

  package init(_ message: String) { self.message = message }
}

extension Array {
  package func keys<Request>() -> [String] where Element == FieldCoding<Request> {
    map(\.key.stringValue)
  }

  package func write<Request>(
    _ request: Request, to object: inout KeyedEncodingContainer<AnyKey>
  ) throws where Element == FieldCoding<Request> {
    for field in self { try field.write(request, &object) }
  }

  package func changes<Request>(
    in object: KeyedDecodingContainer<AnyKey>
  ) throws -> [FieldChange<Request>] where Element == FieldCoding<Request> {
    try compactMap { try $0.read(object) }
  }

  package func apply<Request>(
    to request: inout Request
  ) throws(WrongValue) where Element == FieldChange<Request> {
    for change in self { try change.apply(&request) }
  }
}

/// A key that is known only when the program runs.
package struct AnyKey: CodingKey, ExpressibleByStringLiteral {
  package let stringValue: String
  package var intValue: Int? { nil }

  package init(stringValue: String) { self.stringValue = stringValue }

  package init(stringLiteral value: String) { stringValue = value }

  package init?(intValue: Int) { nil }
}
