/// What those wait for that had something in their way.
enum SchemaV4 {
  static let statements = ["ALTER TABLE members ADD COLUMN wait_reason TEXT"]
}
