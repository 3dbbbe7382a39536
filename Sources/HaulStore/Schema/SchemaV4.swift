/// The wait reasons of members.
enum SchemaV4 {
  static let statements = ["ALTER TABLE members ADD COLUMN wait_reason TEXT"]
}
