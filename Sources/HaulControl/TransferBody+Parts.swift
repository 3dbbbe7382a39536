package import HaulCore

/// The objects in a new transfer. Unknown keys are errors.
extension TransferBody {
  /// A field to send.
  struct Header: Decodable {
    let name: String
    let value: String

    init(name: String, value: String) { (self.name, self.value) = (name, value) }

    init(from decoder: any Decoder) throws {
      let object = try decoder.strictContainer(of: ["name", "value"])
      (name, value) = (try object.value("name"), try object.value("value"))
    }
  }

  /// A transfer that must complete first, by its id or by the caller's identifier.
  struct Dependency: Codable {
    private var id: TransferID?
    private var identifier: String?

    init(from decoder: any Decoder) throws {
      let object = try decoder.strictContainer(of: ["id", "identifier"])
      (id, identifier) = (try object.optional("id"), try object.optional("identifier"))
    }

    init(_ dependency: TransferRequest.Dependency) {
      switch dependency {
      case .transfer(let id): self.id = id
      case .identifier(let name): identifier = name
      }
    }

    var dependency: TransferRequest.Dependency {
      get throws(WrongValue) {
        switch (id, identifier) {
        case (let id?, nil): .transfer(id)
        case (nil, let name?): .identifier(name)
        default: throw WrongValue("a dependency has either an 'id' or an 'identifier'")
        }
      }
    }
  }

  /// A part of a form: either a text or a file.
  struct Part: Codable {
    private let name: String
    private var text: String?
    /// The absolute path of the file.
    private(set) var file: String?

    init(from decoder: any Decoder) throws {
      let object = try decoder.strictContainer(of: ["name", "text", "file"])
      name = try object.value("name")
      (text, file) = (try object.optional("text"), try object.optional("file"))
    }

    init(_ part: FormPart) {
      name = part.name
      switch part.content {
      case .text(let text): self.text = text
      case .file(let path): file = path
      }
    }

    /// - Throws: `WrongValue`. Its message has no text: it may be a secret.
    var part: FormPart {
      get throws(WrongValue) {
        guard !name.isEmpty else { throw WrongValue("a part of 'form' has an empty 'name'") }
        switch (text, file) {
        case (let text?, nil): return FormPart(name, .text(text))
        case (nil, let path?): return FormPart(name, .file(try path.absolute))
        default: throw WrongValue("a part of 'form' has either a 'text' or a 'file'")
        }
      }
    }
  }

  /// The remote source of an upload.
  struct Source: Decodable {
    let url: String
    let headers: [Header]
    let options: [FieldChange<DownloadRequest>]

    init(from decoder: any Decoder) throws {
      let fields = DownloadRequest.fields.source
      let object = try decoder.strictContainer(of: Set(["url", "headers"] + fields.keys()))
      (url, headers) = (try object.value("url"), try object.optional("headers") ?? [])
      options = try fields.changes(in: object)
    }

    var download: DownloadRequest {
      get throws {
        var download = DownloadRequest(url: try ResourceURL(ofBody: url), to: .stream)
        try options.apply(to: &download)
        download.headers = try HeaderFields(ofBody: headers)
        return download
      }
    }
  }
}

extension HeaderFields {
  /// Fields that can be sent (RFC 9110, section 5).
  /// - Throws: `WrongValue`. Its message has no value: it may be a secret.
  init(ofBody headers: [TransferBody.Header]) throws(WrongValue) {
    for field in headers {
      guard HeaderFields.isName(field.name), HeaderFields.isValue(field.value) else {
        throw WrongValue("'headers': a name or a value has a forbidden character")
      }
      guard !HeaderFields.isReserved(field.name) else {
        throw WrongValue("'headers': \(field.name) is set by haul itself and cannot be given")
      }
    }
    self.init(headers.map { ($0.name, $0.value) })
  }
}

extension ResourceURL {
  private static let longest = 64 << 10

  /// - Throws: `Problem` (422).
  package init(ofBody text: String) throws(Problem) {
    guard text.utf8.count <= Self.longest else {
      throw Problem(WrongValue("an address has at most \(Self.longest) bytes"))
    }
    do {
      try self.init(text)
    } catch {
      throw Problem(error)
    }
  }
}

extension String {
  /// This path, if it is absolute.
  var absolute: String {
    get throws(WrongValue) {
      guard isAbsolutePath else { throw WrongValue("the path '\(self)' is not absolute") }
      return self
    }
  }
}

extension Problem {
  init(_ error: WrongValue) { self.init(422, "Unprocessable Content", error.message) }

  /// - Throws: `Problem` (422) for a value that no request can have.
  package static func checked<Value>(
    _ value: @autoclosure () throws(WrongValue) -> Value
  ) throws(Problem) -> Value {
    do throws(WrongValue) { return try value() } catch { throw Problem(error) }
  }
}
