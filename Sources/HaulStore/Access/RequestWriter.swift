import GRDB
import HaulCore
import NIOConcurrencyHelpers

/// Writes requests, dependencies and secrets, each to its table.
struct RequestWriter {
  private let db: Database
  private let coding: RowCoding
  private var insertRequest: RowStatement
  private let requestMemo: RequestMemo
  private var fields = RowCodingMemo<[[String]]>()

  init(db: Database, coding: RowCoding, requestMemo: RequestMemo) throws {
    self.db = db
    self.requestMemo = requestMemo
    self.coding = coding
    insertRequest = try RowStatement(
      db, "INSERT INTO requests (member, address, target, is_exact, form) VALUES (?, ?, ?, ?, ?)")
  }

  mutating func insert(_ request: TransferRequest, _ sequence: Int64) throws {
    let form = try requestMemo.withLockedValue { try $0.encode(StoredRequest(request), coding) }
    let shown = request.url?.redacted
    insertRequest.begin()
    try insertRequest.bind(sequence)
    try insertRequest.bind(text: shown)
    try insertRequest.bind(text: request.download?.destination.path)
    try insertRequest.bind(request.download?.destination.isExact ?? false)
    try insertRequest.bind(form)
    try insertRequest.execute()
    let secrets = RequestSecrets(request, shown: shown)
    if !secrets.isEmpty { try insert(secrets, sequence) }
    if !request.dependencies.isEmpty { try insert(request.dependencies, sequence) }
  }

  private mutating func insert(_ secrets: RequestSecrets, _ sequence: Int64) throws {
    let text = try secrets.fields.map { try fields.encode($0, coding) }
    let formTexts = try secrets.texts.map { try coding.encode($0) }
    let source = try secrets.source.map { try coding.encode($0) }
    try db.cachedStatement(sql: Self.insertSecrets).execute(
      arguments: StatementArguments(of: [
        sequence.databaseValue, StoredText.value(secrets.address),
        StoredText.value(secrets.credentials?.user),
        StoredText.value(secrets.credentials?.password), StoredText.value(text),
        StoredText.value(formTexts), StoredText.value(source),
      ]))
  }

  private func insert(_ dependencies: [TransferRequest.Dependency], _ sequence: Int64) throws {
    let statement = try db.cachedStatement(sql: Self.insertDependency)
    for (position, dependency) in dependencies.enumerated() {
      var values = [sequence.databaseValue, position.databaseValue]
      switch dependency {
      case .transfer(let id): values += [Int64(id.bits).databaseValue, .null]
      case .identifier(let name): values += [.null, StoredText.value(name)]
      }
      try statement.execute(arguments: StatementArguments(of: values))
    }
  }

  private static let insertSecrets = """
    INSERT INTO secrets (member, address, user, password, fields, form_texts, source)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    """
  private static let insertDependency =
    "INSERT INTO dependencies (member, position, id, identifier) VALUES (?, ?, ?, ?)"
}
