/// Adds the requested starts of members.
enum SchemaV5 {
  static let statements = ["ALTER TABLE members ADD COLUMN start_request INTEGER"]
}
