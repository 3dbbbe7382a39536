/// When members were added and ended, in seconds since 1970.
enum SchemaV8 {
  static let statements = [
    "ALTER TABLE members ADD COLUMN added REAL", "ALTER TABLE members ADD COLUMN ended REAL",
  ]
}
