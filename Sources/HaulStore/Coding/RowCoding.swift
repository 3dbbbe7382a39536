import FoundationEssentials
import HaulCore
import NIOConcurrencyHelpers

/// Encodes column values as JSON. Unknown keys are ignored; missing keys have defaults.
struct RowCoding {
  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return encoder
  }()
  private static let decoder: JSONDecoder = {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return decoder
  }()

  func encode(_ form: some Encodable) throws -> String {
    String(decoding: try Self.encoder.encode(form), as: UTF8.self)
  }

  /// - Throws: `io` when the text is not this form.
  func decode<Form: Decodable>(_ type: Form.Type, _ text: String, _ what: String)
    throws(TransferError) -> Form
  {
    do {
      return try Self.decoder.decode(type, from: Data(text.utf8))
    } catch let error as TransferError {
      throw error
    } catch {
      throw .unreadable("a \(what)")
    }
  }
}

/// The last form that was written or read, and its text: in a batch most forms are equal.
struct RowCodingMemo<Form: Codable & Equatable & Sendable>: Sendable {
  private var last: (form: Form, text: String)?

  mutating func encode(_ form: Form, _ coding: RowCoding) throws -> String {
    if let last, last.form == form { return last.text }
    let text = try coding.encode(form)
    last = (form, text)
    return text
  }

  /// - Throws: `io` when the text is not this form.
  mutating func decode(
    _ text: String, _ what: String, _ coding: RowCoding
  ) throws(TransferError) -> Form {
    if let last, last.text == text { return last.form }
    let form = try coding.decode(Form.self, text, what)
    last = (form, text)
    return form
  }
}

/// The request form that was written last, kept between changes: lists mostly add alike requests.
typealias RequestMemo = NIOLockedValueBox<RowCodingMemo<StoredRequest>>

/// A value that is written only if it differs from the default for a missing key.
func nilIfEqual<Value: Equatable>(_ value: Value, to missing: Value) -> Value? {
  value == missing ? nil : value
}
