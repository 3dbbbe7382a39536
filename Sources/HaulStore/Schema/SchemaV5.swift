/// The commands that put members before others.
enum SchemaV5 {
  static let statements = ["ALTER TABLE members ADD COLUMN start_request INTEGER"]
}
