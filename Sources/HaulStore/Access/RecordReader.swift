import GRDB
import HaulCore

/// Reads single records by their rows.
struct RecordReader {
  private let records: Statement
  private let dependencies: Statement
  private let coding = RowCoding()
  private var requests = RowCodingMemo<StoredRequest>()

  init(db: Database) throws {
    records = try db.cachedStatement(
      sql: """
        SELECT m.seq, m.id, \(StateColumns.names.map { "m.\($0)" }.joined(separator: ", ")),
          m.group_name, m.identifier, m.dependency_policy, m.dependencies,
          q.address, q.target, q.form, s.address, s.user, s.password, s.fields, r.form,
          m.plain_end, s.form_texts, s.source, m.added, m.ended
        FROM members m JOIN requests q ON q.member = m.seq
          LEFT JOIN secrets s ON s.member = m.seq LEFT JOIN results r ON r.member = m.seq
        WHERE m.seq = ?
        """)
    dependencies = try db.cachedStatement(
      sql: "SELECT id, identifier FROM dependencies WHERE member = ? ORDER BY position")
  }

  /// Nil when the row does not exist.
  mutating func record(_ sequence: Int64) throws -> TransferRecord? {
    // A cursor's row is not copied.
    let rows = try Row.fetchCursor(records, arguments: StatementArguments([sequence]))
    guard let row = try rows.next() else { return nil }
    var result = try StoredText.text(row, 23).map { text in
      try coding.decode(StoredResult.self, text, "result").result()
    }
    if result == nil, let code = try row.decode(Int?.self, atIndex: 24) {
      result = TransferResult(state: try TransferResult.State(code: code, "end of a transfer"))
    }
    var record = TransferRecord(
      id: try TransferID(stored: row.decode(Int64.self, atIndex: 1)),
      request: try request(row), storedState: try StateColumns.storedState(row, from: 2, coding),
      result: result)
    record.added = try row.decode(Double?.self, atIndex: 27)
    record.ended = try row.decode(Double?.self, atIndex: 28)
    return record
  }

  private mutating func request(_ row: Row) throws -> TransferRequest {
    let text = try StoredText.text(row, 18) ?? ""
    let form = try requests.decode(text, "request", coding)
    let secrets = try secrets(row)
    let shown = try StoredText.text(row, 16)
    var request = try form.request(
      try secrets.address(shown: shown), target: try StoredText.text(row, 17))
    request.headers = try secrets.headerFields()
    switch request.upload?.source {
    case .form(let parts)?: request.upload?.source = .form(try secrets.form(parts))
    case .remote(let source)?: request.upload?.source = .remote(try secrets.source(source))
    default: break
    }
    request.group = try StoredText.text(row, 12)
    request.identifier = try StoredText.text(row, 13)
    request.whenDependencyFails = try TransferRequest.DependencyPolicy(
      code: row.decode(Int.self, atIndex: 14), "rule for dependencies")
    if try row.decode(Int.self, atIndex: 15) > 0 {
      request.dependencies = try after(row.decode(Int64.self, atIndex: 0))
    }
    return request
  }

  private func secrets(_ row: Row) throws -> RequestSecrets {
    let credentials = try StoredText.text(row, 20).map { user in
      ResourceURL.Credentials(user: user, password: try StoredText.text(row, 21) ?? "")
    }
    let fields = try StoredText.text(row, 22).map { text in
      try coding.decode([[String]].self, text, "list of header fields")
    }
    let texts = try StoredText.text(row, 25).map { text in
      try coding.decode([String].self, text, "list of texts")
    }
    let source = try StoredText.text(row, 26).map { text in
      try coding.decode(RequestSecrets.Source.self, text, "remote source")
    }
    return RequestSecrets(
      address: try StoredText.text(row, 19), credentials: credentials, fields: fields,
      texts: texts, source: source)
  }

  private func after(_ member: Int64) throws -> [TransferRequest.Dependency] {
    let rows = try Row.fetchCursor(dependencies, arguments: StatementArguments([member]))
    var after: [TransferRequest.Dependency] = []
    while let row = try rows.next() {
      if let id = try row.decode(Int64?.self, atIndex: 0) {
        after.append(.transfer(try TransferID(stored: id)))
      } else if let name = try StoredText.text(row, 1) {
        after.append(.identifier(name))
      }
    }
    return after
  }
}
