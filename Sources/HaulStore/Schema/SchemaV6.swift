/// Moves the texts of forms, which may be secret, from the requests to the secrets; and adds the
/// uploads that must still be aborted, whose requests are secret as a whole.
enum SchemaV6 {
  static let statements = [
    "CREATE TABLE secret_aborts (id INTEGER PRIMARY KEY, request TEXT NOT NULL) STRICT",
    "ALTER TABLE secrets ADD COLUMN form_texts ANY",
    """
    INSERT INTO secrets (member, form_texts)
      SELECT member, (
          SELECT json_group_array(json(value -> '$.content.text._0'))
          FROM json_each(form, '$.upload.form') WHERE \(isText)
        )
      FROM requests WHERE \(isForm)
      ON CONFLICT (member) DO UPDATE SET form_texts = excluded.form_texts
    """,
    """
    UPDATE requests SET form = json_set(form, '$.upload.form', json((
        SELECT json_group_array(json(
          CASE WHEN \(isText) THEN json_set(value, '$.content.text._0', '') ELSE value END))
        FROM json_each(form, '$.upload.form')
      )))
      WHERE \(isForm)
    """,
  ]

  /// Whether the request is a form. A damaged one is none: reading it fails later, as before.
  private static let isForm = """
    CASE WHEN instr(form, '"content"') > 0 AND json_valid(form)
      THEN json_type(form, '$.upload.form') = 'array' ELSE FALSE END
    """
  /// Whether the part of a form is a text.
  private static let isText = "json_type(value, '$.content.text') IS NOT NULL"
}
