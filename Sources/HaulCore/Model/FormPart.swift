/// One part of a form (RFC 7578).
public struct FormPart: Sendable, Hashable, Codable {
  /// What the part contains.
  public enum Content: Sendable, Hashable, Codable {
    /// The value of a field, sent as UTF-8.
    case text(String)
    /// The file at this path, with the last name of the path.
    case file(String)
  }

  /// The name of the field.
  public var name: String
  /// What it contains.
  public var content: Content

  /// A part of a form.
  public init(_ name: String, _ content: Content) {
    self.name = name
    self.content = content
  }

  /// The path of its file; nil for a text.
  var path: String? { if case .file(let path) = content { path } else { nil } }

  /// Its text; nil for a file.
  package var text: String? { if case .text(let text) = content { text } else { nil } }
}
