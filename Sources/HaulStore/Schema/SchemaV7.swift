/// The remote sources of uploads: an address and header fields, any of which may be secret.
enum SchemaV7 {
  static let statements = ["ALTER TABLE secrets ADD COLUMN source ANY"]
}
